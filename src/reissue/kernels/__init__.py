"""Mathematics that methods and attacks share: nothing here knows of files, columns or people's names."""
