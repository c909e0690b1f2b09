CREATE TABLE `presigned` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`hash` text NOT NULL,
	`response` blob NOT NULL,
	`responder` text,
	`produced_at` integer NOT NULL,
	`this_update` integer NOT NULL,
	`next_update` integer NOT NULL,
	`revoked_at` integer,
	`reason` text,
	PRIMARY KEY(`ca_id`, `serial`, `hash`)
);
--> statement-breakpoint
CREATE INDEX `presigned_expiry` ON `presigned` (`next_update`);