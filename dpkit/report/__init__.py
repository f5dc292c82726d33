"""Reports: one HTML file that works offline, on a phone, in print, in light and dark."""
