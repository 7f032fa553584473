"""The store on PostgreSQL 15 and newer, on psycopg 3."""
