CREATE TABLE "crl_heads" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"kind" text NOT NULL,
	"number" bigint NOT NULL,
	"base" bigint,
	"this_update" bigint NOT NULL,
	"next_update" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	"entries" bigint NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"modulus" bigint NOT NULL,
	"urls" text NOT NULL,
	"prior_update" bigint,
	"prior_sequence" bigint,
	CONSTRAINT "crl_heads_ca_id_scope_kind_number_pk" PRIMARY KEY("ca_id","scope","kind","number")
);
--> statement-breakpoint
CREATE TABLE "crl_indexes" (
	"ca_id" text NOT NULL,
	"modulus" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	CONSTRAINT "crl_indexes_ca_id_modulus_pk" PRIMARY KEY("ca_id","modulus")
);
--> statement-breakpoint
CREATE TABLE "crl_members" (
	"ca_id" text NOT NULL,
	"partition" bigint NOT NULL,
	"serial" text NOT NULL,
	"modulus" bigint NOT NULL,
	CONSTRAINT "crl_members_ca_id_partition_serial_modulus_pk" PRIMARY KEY("ca_id","partition","serial","modulus")
);
--> statement-breakpoint
CREATE TABLE "crl_pieces" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"number" bigint NOT NULL,
	"position" bigint NOT NULL,
	"octets" "bytea" NOT NULL,
	CONSTRAINT "crl_pieces_ca_id_scope_number_position_pk" PRIMARY KEY("ca_id","scope","number","position")
);
--> statement-breakpoint
CREATE TABLE "crl_stamps" (
	"ca_id" text NOT NULL,
	"partition" bigint NOT NULL,
	"url" text NOT NULL,
	"not_after" bigint NOT NULL,
	CONSTRAINT "crl_stamps_ca_id_partition_url_pk" PRIMARY KEY("ca_id","partition","url")
);
--> statement-breakpoint
CREATE TABLE "revocation_releases" (
	"ca_id" text NOT NULL,
	"sequence" bigint NOT NULL,
	"serial" text NOT NULL,
	"since" bigint NOT NULL,
	"revoked_at" bigint NOT NULL,
	"expires_at" bigint,
	CONSTRAINT "revocation_releases_ca_id_sequence_pk" PRIMARY KEY("ca_id","sequence")
);
--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "crl_partition" bigint;--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "crl_url" text;--> statement-breakpoint
ALTER TABLE "crl_reservations" ADD COLUMN "sequence" bigint DEFAULT 0 NOT NULL;