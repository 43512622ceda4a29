"""The bundled phantoms, schematic chest X-rays: what is in them, and how they are drawn."""
