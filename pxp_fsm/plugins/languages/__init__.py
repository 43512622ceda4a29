"""Tag languages of protocols and recordings, compared."""
