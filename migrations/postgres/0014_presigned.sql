CREATE TABLE "presigned" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"hash" text NOT NULL,
	"response" "bytea" NOT NULL,
	"responder" text,
	"produced_at" bigint NOT NULL,
	"this_update" bigint NOT NULL,
	"next_update" bigint NOT NULL,
	"revoked_at" bigint,
	"reason" text,
	CONSTRAINT "presigned_ca_id_serial_hash_pk" PRIMARY KEY("ca_id","serial","hash")
);
--> statement-breakpoint
CREATE INDEX "presigned_expiry" ON "presigned" USING btree ("next_update");