-- PostgreSQL finds the events of a certificate as before: only the number of the schema moves.
SELECT 1;
