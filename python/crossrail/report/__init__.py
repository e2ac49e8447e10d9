"""What people read: tables, charts, pages, from measurements and from what jobs counted."""
