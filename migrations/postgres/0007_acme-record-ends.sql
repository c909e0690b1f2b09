CREATE TABLE "acme_record_ends" (
	"account" text NOT NULL,
	"identifier" text NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "acme_record_ends_account_identifier_pk" PRIMARY KEY("account","identifier")
);
