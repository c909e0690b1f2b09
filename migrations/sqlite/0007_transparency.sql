CREATE TABLE `ct_inclusions` (
	`id` text PRIMARY KEY NOT NULL,
	`ca_id` text NOT NULL,
	`tenant` text NOT NULL,
	`serial` text NOT NULL,
	`log_id` text NOT NULL,
	`log_name` text NOT NULL,
	`sct_timestamp` integer NOT NULL,
	`leaf_hash` text NOT NULL,
	`promised_index` integer,
	`status` text NOT NULL,
	`due_at` integer NOT NULL,
	`tree_size` integer,
	`leaf_index` integer,
	`checks` integer NOT NULL,
	`last_error` text NOT NULL,
	`first_checked_at` integer,
	`last_checked_at` integer,
	`included_at` integer,
	`alerted` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ct_inclusions_paging` ON `ct_inclusions` (`sct_timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `ct_inclusions_certificate` ON `ct_inclusions` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `ct_inclusions_status` ON `ct_inclusions` (`status`,`due_at`);--> statement-breakpoint
CREATE TABLE `ct_log_heads` (
	`log_id` text PRIMARY KEY NOT NULL,
	`tree_size` integer NOT NULL,
	`root_hash` blob NOT NULL,
	`timestamp` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `precertificates` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`certificate` blob NOT NULL,
	`created_at` integer NOT NULL,
	`unsettled` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
CREATE INDEX `precertificates_unsettled` ON `precertificates` (`created_at`) WHERE unsettled;--> statement-breakpoint
ALTER TABLE `certificates` ADD `ct` text;