CREATE TABLE "acme_account_keys" (
	"account" text NOT NULL,
	"thumbprint" text NOT NULL,
	"spki_sha256" text NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "acme_account_keys_account_thumbprint_pk" PRIMARY KEY("account","thumbprint")
);
--> statement-breakpoint
CREATE TABLE "acme_accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"directory" text NOT NULL,
	"tenant" text NOT NULL,
	"status" text NOT NULL,
	"thumbprint" text NOT NULL,
	"jwk" text NOT NULL,
	"spki_sha256" text NOT NULL,
	"contacts" text NOT NULL,
	"terms_agreed_at" bigint,
	"eab_id" text,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "acme_authorizations" (
	"id" text PRIMARY KEY NOT NULL,
	"account" text NOT NULL,
	"directory" text NOT NULL,
	"identifier_type" text NOT NULL,
	"identifier" text NOT NULL,
	"wildcard" boolean NOT NULL,
	"status" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"method" text,
	"challenges" text NOT NULL,
	"ordered" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "acme_challenges" (
	"id" text PRIMARY KEY NOT NULL,
	"authorization_id" text NOT NULL,
	"account" text NOT NULL,
	"type" text NOT NULL,
	"token" text NOT NULL,
	"status" text NOT NULL,
	"validated_at" bigint,
	"error" text,
	"attempts" bigint NOT NULL,
	"next_at" bigint,
	"owner" bigint,
	"lease_until" bigint
);
--> statement-breakpoint
CREATE TABLE "acme_eabs" (
	"id" text PRIMARY KEY NOT NULL,
	"directory" text NOT NULL,
	"ca_id" text NOT NULL,
	"tenant" text NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"profile" text,
	"dns_suffixes" text NOT NULL,
	"ip_ranges" text NOT NULL,
	"allow_wildcards" boolean NOT NULL,
	"any_identifier" boolean NOT NULL,
	"max_uses" bigint NOT NULL,
	"uses" bigint NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"last_used_at" bigint,
	"revoked_at" bigint,
	"revoked_by" text
);
--> statement-breakpoint
CREATE TABLE "acme_nonces" (
	"id" text PRIMARY KEY NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "acme_order_authorizations" (
	"authorization_id" text NOT NULL,
	"order_id" text NOT NULL,
	CONSTRAINT "acme_order_authorizations_authorization_id_order_id_pk" PRIMARY KEY("authorization_id","order_id")
);
--> statement-breakpoint
CREATE TABLE "acme_orders" (
	"id" text PRIMARY KEY NOT NULL,
	"account" text NOT NULL,
	"directory" text NOT NULL,
	"tenant" text NOT NULL,
	"ca_id" text NOT NULL,
	"status" text NOT NULL,
	"identifiers" text NOT NULL,
	"authorizations" text NOT NULL,
	"profile" text NOT NULL,
	"replaces_ca" text,
	"replaces_serial" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"ends_at" bigint NOT NULL,
	"error" text,
	"certificate_ca" text,
	"certificate_serial" text,
	"certificate_not_after" bigint,
	"replaced_by" text,
	"owner" bigint,
	"claimed_at" bigint
);
--> statement-breakpoint
CREATE TABLE "acme_replacement_items" (
	"replacement" text NOT NULL,
	"serial" text NOT NULL,
	"ca_id" text NOT NULL,
	"starts_at" bigint NOT NULL,
	"ends_at" bigint NOT NULL,
	"replaced_at" bigint,
	"revoked_at" bigint,
	CONSTRAINT "acme_replacement_items_replacement_serial_ca_id_pk" PRIMARY KEY("replacement","serial","ca_id")
);
--> statement-breakpoint
CREATE TABLE "acme_replacements" (
	"id" text PRIMARY KEY NOT NULL,
	"ca_id" text NOT NULL,
	"tenant" text NOT NULL,
	"selection" text NOT NULL,
	"starts_at" bigint NOT NULL,
	"ends_at" bigint NOT NULL,
	"per_second" text NOT NULL,
	"revoke" text,
	"state" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"total" bigint NOT NULL,
	"replaced" bigint NOT NULL,
	"revoked" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "acme_account_keys_number" ON "acme_account_keys" USING btree ("account","number");--> statement-breakpoint
CREATE INDEX "acme_account_keys_spki" ON "acme_account_keys" USING btree ("spki_sha256");--> statement-breakpoint
CREATE UNIQUE INDEX "acme_accounts_key" ON "acme_accounts" USING btree ("directory","thumbprint");--> statement-breakpoint
CREATE INDEX "acme_accounts_spki" ON "acme_accounts" USING btree ("spki_sha256");--> statement-breakpoint
CREATE INDEX "acme_accounts_listing" ON "acme_accounts" USING btree ("tenant","status","created_at","id");--> statement-breakpoint
CREATE INDEX "acme_accounts_eab" ON "acme_accounts" USING btree ("eab_id","status","id") WHERE eab_id is not null;--> statement-breakpoint
CREATE INDEX "acme_authorizations_open" ON "acme_authorizations" USING btree ("account","identifier","id","status") WHERE status in ('pending', 'valid');--> statement-breakpoint
CREATE INDEX "acme_authorizations_end" ON "acme_authorizations" USING btree ("expires_at") WHERE not ordered;--> statement-breakpoint
CREATE INDEX "acme_challenges_due" ON "acme_challenges" USING btree ("next_at","id","account","lease_until","owner") WHERE status = 'processing';--> statement-breakpoint
CREATE INDEX "acme_eabs_paging" ON "acme_eabs" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "acme_orders_account" ON "acme_orders" USING btree ("account","created_at","id");--> statement-breakpoint
CREATE INDEX "acme_orders_listing" ON "acme_orders" USING btree ("tenant","ca_id","created_at","id");--> statement-breakpoint
CREATE INDEX "acme_orders_open" ON "acme_orders" USING btree ("status","created_at","id","account","tenant","ca_id","expires_at") WHERE status <> 'valid';--> statement-breakpoint
CREATE INDEX "acme_orders_end" ON "acme_orders" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "acme_orders_certificate" ON "acme_orders" USING btree ("certificate_not_after","certificate_serial") WHERE certificate_serial is not null;--> statement-breakpoint
CREATE INDEX "acme_replacement_items_certificate" ON "acme_replacement_items" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "acme_replacement_items_left" ON "acme_replacement_items" USING btree ("replacement","serial","ca_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "acme_replacement_items_replaced" ON "acme_replacement_items" USING btree ("replacement","serial","ca_id") WHERE revoked_at is null and replaced_at is not null;--> statement-breakpoint
CREATE INDEX "acme_replacements_paging" ON "acme_replacements" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "acme_replacements_running" ON "acme_replacements" USING btree ("created_at","id") WHERE state = 'running';