// These are parameter lists of machine words, for entry points that hand their arguments on untouched: WORDS(n) declares the parameters a1 to
// an, and NAMES(n) names them. Every integer and pointer argument travels as one 64-bit word in the C calling conventions of x86-64 and
// aarch64 Linux. The upper half of an int's word is undefined, and is handed on as it is.
#pragma once

#define WORDS_1 Word64 a1
#define WORDS_TWO WORDS_1, Word64 a2
#define WORDS_3 WORDS_TWO, Word64 a3
#define WORDS_4 WORDS_3, Word64 a4
#define WORDS_5 WORDS_4, Word64 a5
#define WORDS_6 WORDS_5, Word64 a6
#define WORDS_7 WORDS_6, Word64 a7
#define WORDS_8 WORDS_7, Word64 a8
#define WORDS_9 WORDS_8, Word64 a9
#define WORDS_10 WORDS_9, Word64 a10
#define WORDS_11 WORDS_10, Word64 a11
#define WORDS_12 WORDS_11, Word64 a12
#define WORDS_13 WORDS_12, Word64 a13

#define NAMES_1 a1
#define NAMES_TWO NAMES_1, a2
#define NAMES_3 NAMES_TWO, a3
#define NAMES_4 NAMES_3, a4
#define NAMES_5 NAMES_4, a5
#define NAMES_6 NAMES_5, a6
#define NAMES_7 NAMES_6, a7
#define NAMES_8 NAMES_7, a8
#define NAMES_9 NAMES_8, a9
#define NAMES_10 NAMES_9, a10
#define NAMES_11 NAMES_10, a11
#define NAMES_12 NAMES_11, a12
#define NAMES_13 NAMES_12, a13

// MORE_ONE(n), MORE_TWO(n) and MORE_THREE(n) are n + 1, n + 2 and n + 3, which the preprocessor cannot compute.
#define MORE_ONE(n) MORE_ONE_##n
#define MORE_ONE_6 7
#define MORE_ONE_7 8
#define MORE_ONE_8 9
#define MORE_ONE_9 10
#define MORE_ONE_10 11
#define MORE_TWO(n) MORE_TWO_##n
#define MORE_TWO_6 8
#define MORE_TWO_7 9
#define MORE_TWO_8 10
#define MORE_TWO_9 11
#define MORE_TWO_10 12
#define MORE_THREE(n) MORE_THREE_##n
#define MORE_THREE_6 9
#define MORE_THREE_7 10
#define MORE_THREE_8 11
#define MORE_THREE_9 12
#define MORE_THREE_10 13

#define WORDS(n) WORDS_OF(n)
#define WORDS_OF(n) WORDS_##n
#define NAMES(n) NAMES_OF(n)
#define NAMES_OF(n) NAMES_##n
