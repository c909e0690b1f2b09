DROP INDEX `bulk_runs_id`;--> statement-breakpoint
ALTER TABLE `bulk_runs` ADD `lineage` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `bulk_runs` SET `lineage` = coalesce((SELECT c.lineage FROM `cas` c WHERE c.id = ca_id), ca_id);--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_runs_id` ON `bulk_runs` (`lineage`,`id`);--> statement-breakpoint
CREATE TABLE `__new_bulk_items` (
	`lineage` text NOT NULL,
	`operation` text NOT NULL,
	`position` integer NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_bulk_items`("lineage", "operation", "position", "ca_id", "serial") SELECT o.lineage, i.operation, i.position, i.ca_id, i.serial FROM `bulk_items` i JOIN `bulk_operations` o ON o.id = i.operation;--> statement-breakpoint
DROP TABLE `bulk_items`;--> statement-breakpoint
ALTER TABLE `__new_bulk_items` RENAME TO `bulk_items`;--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_items_position` ON `bulk_items` (`lineage`,`operation`,`position`);--> statement-breakpoint
CREATE TABLE `__new_bulk_operations` (
	`lineage` text NOT NULL,
	`id` text NOT NULL,
	`digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_bulk_operations`("lineage", "id", "digest", "requested_by", "created_at") SELECT "lineage", "id", "digest", "requested_by", "created_at" FROM `bulk_operations`;--> statement-breakpoint
DROP TABLE `bulk_operations`;--> statement-breakpoint
ALTER TABLE `__new_bulk_operations` RENAME TO `bulk_operations`;--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_operations_id` ON `bulk_operations` (`lineage`,`id`);
--> statement-breakpoint
DROP INDEX `blocked_keys_key`;--> statement-breakpoint
ALTER TABLE `blocked_keys` ADD `tenant` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `blocked_keys_key` ON `blocked_keys` (`spki_sha256`,`tenant`);