DROP INDEX `approval_decisions_person`;--> statement-breakpoint
ALTER TABLE `approval_decisions` ADD `person_subject` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `approval_decisions` ADD `person_voucher` text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE `approval_decisions` ADD `person_issuer` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `approval_decisions` ADD `person_address` text DEFAULT '' NOT NULL;--> statement-breakpoint
DROP INDEX `approvals_open`;--> statement-breakpoint
ALTER TABLE `approvals` ADD `maker_voucher` text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE `approvals` ADD `maker_issuer` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `passkeys` ADD `voucher` text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE `passkeys` ADD `issuer` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_tokens` ADD `person_subject` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_tokens` ADD `person_voucher` text DEFAULT 'unknown' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_tokens` ADD `person_issuer` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_tokens` ADD `person_address` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `api_tokens` SET `person_subject` = CASE WHEN created_by NOT LIKE 'token:%' AND created_by NOT LIKE 'local:%' THEN created_by ELSE CASE WHEN person LIKE '% <%@%>' THEN substr(person, 1, instr(person, ' <') - 1) ELSE person END END, `person_address` = CASE WHEN created_by NOT LIKE 'token:%' AND substr(person, 1, length(created_by) + 2) = created_by || ' <' THEN substr(person, length(created_by) + 3, length(person) - length(created_by) - 3) WHEN created_by LIKE 'token:%' THEN CASE WHEN person LIKE '% <%@%>' THEN substr(person, instr(person, ' <') + 2, length(person) - instr(person, ' <') - 2) ELSE '' END ELSE '' END;--> statement-breakpoint
UPDATE `api_tokens` SET `person_voucher` = CASE WHEN person_subject = 'root' OR person_subject LIKE 'system:%' THEN 'pkid' WHEN person_subject = 'local' THEN 'local' ELSE 'unknown' END;--> statement-breakpoint
UPDATE `approval_decisions` SET `person_subject` = CASE WHEN approver NOT LIKE 'token:%' AND approver NOT LIKE 'local:%' THEN approver ELSE CASE WHEN person LIKE '% <%@%>' THEN substr(person, 1, instr(person, ' <') - 1) ELSE person END END, `person_address` = CASE WHEN approver NOT LIKE 'token:%' AND substr(person, 1, length(approver) + 2) = approver || ' <' THEN substr(person, length(approver) + 3, length(person) - length(approver) - 3) WHEN approver LIKE 'token:%' THEN CASE WHEN person LIKE '% <%@%>' THEN substr(person, instr(person, ' <') + 2, length(person) - instr(person, ' <') - 2) ELSE '' END ELSE '' END;--> statement-breakpoint
UPDATE `approval_decisions` SET `person_voucher` = CASE WHEN person_subject = 'root' OR person_subject LIKE 'system:%' THEN 'pkid' WHEN person_subject = 'local' THEN 'local' ELSE 'unknown' END;--> statement-breakpoint
UPDATE `approvals` SET `maker_subject` = json_extract(maker, '$.subject'), `maker_address` = CASE WHEN json_extract(maker, '$.emailVerified') = 1 THEN lower(json_extract(maker, '$.email')) ELSE '' END WHERE json_extract(maker, '$.mechanism') NOT IN ('token', 'local');--> statement-breakpoint
UPDATE `approvals` SET `maker_voucher` = CASE json_extract(maker, '$.mechanism') WHEN 'local' THEN 'local' WHEN 'mtls' THEN 'mtls' WHEN 'system' THEN 'pkid' ELSE CASE WHEN maker_subject = 'root' OR maker_subject LIKE 'system:%' THEN 'pkid' WHEN maker_subject = 'local' THEN 'local' ELSE 'unknown' END END;--> statement-breakpoint
CREATE UNIQUE INDEX `approval_decisions_person` ON `approval_decisions` (`approval`,`person_voucher`,`person_issuer`,`person_subject`);--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_open` ON `approvals` (`open_key`,`maker_voucher`,`maker_issuer`,`maker_subject`);