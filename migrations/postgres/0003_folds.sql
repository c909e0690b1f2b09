-- PostgreSQL writes its indexes with the row: only the number of the schema moves.
SELECT 1;
