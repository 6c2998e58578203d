"""Files in and out: tables in any format, written completely or not at all."""
