ALTER TABLE "certificates" ADD COLUMN "digest_head" bigint;--> statement-breakpoint
-- The table is written anew, which an update of every row would do index by index.
ALTER TABLE "certificates" ALTER COLUMN "digest_head" TYPE bigint USING CASE WHEN length("certificate") > 0 THEN ('x' || left(encode(sha256("certificate"), 'hex'), 12))::bit(48)::bigint END;--> statement-breakpoint
UPDATE "certificates" c SET "digest_head" = ('x' || left(encode(sha256(a."certificate"), 'hex'), 12))::bit(48)::bigint FROM "certificate_archive" a WHERE a."ca_id" = c."ca_id" AND a."serial" = c."serial" AND length(c."certificate") = 0;
