CREATE TABLE `crl_heads` (
	`ca_id` text NOT NULL,
	`scope` text NOT NULL,
	`kind` text NOT NULL,
	`number` integer NOT NULL,
	`base` integer,
	`this_update` integer NOT NULL,
	`next_update` integer NOT NULL,
	`sequence` integer NOT NULL,
	`entries` integer NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`modulus` integer NOT NULL,
	`urls` text NOT NULL,
	`prior_update` integer,
	`prior_sequence` integer,
	PRIMARY KEY(`ca_id`, `scope`, `kind`, `number`)
);
--> statement-breakpoint
CREATE TABLE `crl_indexes` (
	`ca_id` text NOT NULL,
	`modulus` integer NOT NULL,
	`sequence` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `modulus`)
);
--> statement-breakpoint
CREATE TABLE `crl_members` (
	`ca_id` text NOT NULL,
	`partition` integer NOT NULL,
	`serial` text NOT NULL,
	`modulus` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `partition`, `serial`, `modulus`)
);
--> statement-breakpoint
CREATE TABLE `crl_pieces` (
	`ca_id` text NOT NULL,
	`scope` text NOT NULL,
	`number` integer NOT NULL,
	`position` integer NOT NULL,
	`octets` blob NOT NULL,
	PRIMARY KEY(`ca_id`, `scope`, `number`, `position`)
);
--> statement-breakpoint
CREATE TABLE `crl_stamps` (
	`ca_id` text NOT NULL,
	`partition` integer NOT NULL,
	`url` text NOT NULL,
	`not_after` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `partition`, `url`)
);
--> statement-breakpoint
CREATE TABLE `revocation_releases` (
	`ca_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`serial` text NOT NULL,
	`since` integer NOT NULL,
	`revoked_at` integer NOT NULL,
	`expires_at` integer,
	PRIMARY KEY(`ca_id`, `sequence`)
);
--> statement-breakpoint
ALTER TABLE `certificates` ADD `crl_partition` integer;--> statement-breakpoint
ALTER TABLE `certificates` ADD `crl_url` text;--> statement-breakpoint
ALTER TABLE `crl_reservations` ADD `sequence` integer DEFAULT 0 NOT NULL;