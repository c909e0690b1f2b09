-- Events of before keep no number: they are found by what they name, as they were.
DROP INDEX `events_certificate`;--> statement-breakpoint
ALTER TABLE `events` ADD `certificate_ordinal` integer;--> statement-breakpoint
CREATE INDEX `events_ca` ON `events` (`ca_id`) WHERE folded;--> statement-breakpoint
CREATE INDEX `events_numbered` ON `events` (`certificate_ordinal`) WHERE folded and certificate_ordinal is not null;--> statement-breakpoint
CREATE INDEX `events_certificate` ON `events` (`ca_id`,`serial`) WHERE folded and certificate_ordinal is null and serial <> '';--> statement-breakpoint
CREATE TRIGGER `events_renamed` AFTER DELETE ON `certificates` BEGIN
	UPDATE `events` SET `certificate_ordinal` = NULL WHERE `folded` AND `certificate_ordinal` = old.`ordinal`;
END;
