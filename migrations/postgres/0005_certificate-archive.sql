CREATE TABLE "certificate_archive" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"archived_at" bigint NOT NULL,
	"certificate" "bytea" NOT NULL,
	CONSTRAINT "certificate_archive_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
