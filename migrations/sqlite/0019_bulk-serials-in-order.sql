CREATE TABLE `bulk_serials_in_order` (
	`run` integer NOT NULL,
	`place` text NOT NULL,
	PRIMARY KEY(`run`, `place`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `bulk_serials_in_order` SELECT `run`, `place` FROM `bulk_serials` ORDER BY `run`, `place`;--> statement-breakpoint
DROP TABLE `bulk_serials`;--> statement-breakpoint
ALTER TABLE `bulk_serials_in_order` RENAME TO `bulk_serials`;
