"""Files in and out: CSV and Parquet, written whole or not at all."""
