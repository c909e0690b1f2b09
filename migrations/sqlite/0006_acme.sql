CREATE TABLE `acme_account_keys` (
	`account` text NOT NULL,
	`thumbprint` text NOT NULL,
	`spki_sha256` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`account`, `thumbprint`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `acme_account_keys_number` ON `acme_account_keys` (`account`,`number`);--> statement-breakpoint
CREATE INDEX `acme_account_keys_spki` ON `acme_account_keys` (`spki_sha256`);--> statement-breakpoint
CREATE TABLE `acme_accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`directory` text NOT NULL,
	`tenant` text NOT NULL,
	`status` text NOT NULL,
	`thumbprint` text NOT NULL,
	`jwk` text NOT NULL,
	`spki_sha256` text NOT NULL,
	`contacts` text NOT NULL,
	`terms_agreed_at` integer,
	`eab_id` text,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `acme_accounts_key` ON `acme_accounts` (`directory`,`thumbprint`);--> statement-breakpoint
CREATE INDEX `acme_accounts_spki` ON `acme_accounts` (`spki_sha256`);--> statement-breakpoint
CREATE INDEX `acme_accounts_listing` ON `acme_accounts` (`tenant`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `acme_accounts_eab` ON `acme_accounts` (`eab_id`,`status`,`id`) WHERE eab_id is not null;--> statement-breakpoint
CREATE TABLE `acme_authorizations` (
	`id` text PRIMARY KEY NOT NULL,
	`account` text NOT NULL,
	`directory` text NOT NULL,
	`identifier_type` text NOT NULL,
	`identifier` text NOT NULL,
	`wildcard` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`method` text,
	`challenges` text NOT NULL,
	`ordered` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `acme_authorizations_open` ON `acme_authorizations` (`account`,`identifier`,`id`,`status`) WHERE status in ('pending', 'valid');--> statement-breakpoint
CREATE INDEX `acme_authorizations_end` ON `acme_authorizations` (`expires_at`) WHERE not ordered;--> statement-breakpoint
CREATE TABLE `acme_challenges` (
	`id` text PRIMARY KEY NOT NULL,
	`authorization_id` text NOT NULL,
	`account` text NOT NULL,
	`type` text NOT NULL,
	`token` text NOT NULL,
	`status` text NOT NULL,
	`validated_at` integer,
	`error` text,
	`attempts` integer NOT NULL,
	`next_at` integer,
	`owner` integer,
	`lease_until` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `acme_challenges_due` ON `acme_challenges` (`next_at`,`id`,`account`,`lease_until`,`owner`) WHERE status = 'processing';--> statement-breakpoint
CREATE TABLE `acme_eabs` (
	`id` text PRIMARY KEY NOT NULL,
	`directory` text NOT NULL,
	`ca_id` text NOT NULL,
	`tenant` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`profile` text,
	`dns_suffixes` text NOT NULL,
	`ip_ranges` text NOT NULL,
	`allow_wildcards` integer NOT NULL,
	`any_identifier` integer NOT NULL,
	`max_uses` integer NOT NULL,
	`uses` integer NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`revoked_at` integer,
	`revoked_by` text
);
--> statement-breakpoint
CREATE INDEX `acme_eabs_paging` ON `acme_eabs` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `acme_nonces` (
	`id` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `acme_order_authorizations` (
	`authorization_id` text NOT NULL,
	`order_id` text NOT NULL,
	PRIMARY KEY(`authorization_id`, `order_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `acme_orders` (
	`id` text PRIMARY KEY NOT NULL,
	`account` text NOT NULL,
	`directory` text NOT NULL,
	`tenant` text NOT NULL,
	`ca_id` text NOT NULL,
	`status` text NOT NULL,
	`identifiers` text NOT NULL,
	`authorizations` text NOT NULL,
	`profile` text NOT NULL,
	`replaces_ca` text,
	`replaces_serial` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`error` text,
	`certificate_ca` text,
	`certificate_serial` text,
	`certificate_not_after` integer,
	`replaced_by` text,
	`owner` integer,
	`claimed_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `acme_orders_account` ON `acme_orders` (`account`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `acme_orders_listing` ON `acme_orders` (`tenant`,`ca_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `acme_orders_open` ON `acme_orders` (`status`,`created_at`,`id`,`account`,`tenant`,`ca_id`,`expires_at`) WHERE status <> 'valid';--> statement-breakpoint
CREATE INDEX `acme_orders_end` ON `acme_orders` (`ends_at`);--> statement-breakpoint
CREATE INDEX `acme_orders_certificate` ON `acme_orders` (`certificate_not_after`,`certificate_serial`) WHERE certificate_serial is not null;--> statement-breakpoint
CREATE TABLE `acme_replacement_items` (
	`replacement` text NOT NULL,
	`serial` text NOT NULL,
	`ca_id` text NOT NULL,
	`starts_at` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`replaced_at` integer,
	`revoked_at` integer,
	PRIMARY KEY(`replacement`, `serial`, `ca_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `acme_replacement_items_certificate` ON `acme_replacement_items` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `acme_replacement_items_left` ON `acme_replacement_items` (`replacement`,`serial`,`ca_id`) WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX `acme_replacement_items_replaced` ON `acme_replacement_items` (`replacement`,`serial`,`ca_id`) WHERE revoked_at is null and replaced_at is not null;--> statement-breakpoint
CREATE TABLE `acme_replacements` (
	`id` text PRIMARY KEY NOT NULL,
	`ca_id` text NOT NULL,
	`tenant` text NOT NULL,
	`selection` text NOT NULL,
	`starts_at` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`per_second` text NOT NULL,
	`revoke` text,
	`state` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`total` integer NOT NULL,
	`replaced` integer NOT NULL,
	`revoked` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `acme_replacements_paging` ON `acme_replacements` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `acme_replacements_running` ON `acme_replacements` (`created_at`,`id`) WHERE state = 'running';