CREATE TABLE `bulk_items` (
	`operation` text NOT NULL,
	`position` integer NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	PRIMARY KEY(`operation`, `position`)
);
--> statement-breakpoint
CREATE TABLE `bulk_operations` (
	`id` text PRIMARY KEY NOT NULL,
	`lineage` text NOT NULL,
	`digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL
);
