ALTER TABLE "heads" ADD COLUMN "rows_version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE FUNCTION "move_rows_version"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	UPDATE "heads" SET "rows_version" = "rows_version" + 1 WHERE "id" = 1;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "cas_versioned" AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "cas" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "tenants_versioned" AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "tenants" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "grants_versioned" AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "grants" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "blocked_keys_versioned" AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "blocked_keys" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "own_keys_versioned" AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON "own_keys" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "api_tokens_versioned" AFTER INSERT OR DELETE OR TRUNCATE ON "api_tokens" FOR EACH STATEMENT EXECUTE FUNCTION "move_rows_version"();--> statement-breakpoint
CREATE TRIGGER "api_tokens_changed" AFTER UPDATE ON "api_tokens" FOR EACH ROW
	WHEN ((to_jsonb(OLD) - 'last_used_at' - 'last_used_ip') IS DISTINCT FROM (to_jsonb(NEW) - 'last_used_at' - 'last_used_ip'))
	EXECUTE FUNCTION "move_rows_version"();
