BEGIN TRANSACTION;
CREATE TABLE environments (
	run_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (run_id, position), 
	UNIQUE (run_id, name), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id) ON DELETE CASCADE
);
INSERT INTO "environments" VALUES('run-1',0,'this','f1','{"schema":1,"name":"this","fingerprint":"f1","facts":{"cpu":{"model":"Imaginary 9000"}}}');
CREATE TABLE measurements (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	environment TEXT NOT NULL, 
	case_id TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	op TEXT NOT NULL, 
	label TEXT NOT NULL, 
	started_at TEXT NOT NULL, 
	time_s FLOAT, 
	document TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (run_id, environment, case_id, repeat, attempt), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "measurements" VALUES(1,'run-1','this','43d0c61d36006964',0,0,'ok','torch.mm','','2024-05-01T10:00:01Z',1.5e-06,'{"schema":1,"run_id":"run-1","case_id":"43d0c61d36006964","case":{"op":"torch.mm","args":[{"type":"tensor","shape":[1,8]},{"type":"tensor","shape":[8,4]}]},"status":"ok","metrics":[{"tag":"time","value":1.5e-6,"unit":"s","hint":"duration","samples":[1.5e-6,1.5012345678e-6,1.5024691356e-6],"flags":[0,0,0],"interval":{"low":1.4e-6,"high":1.6e-6,"confidence":0.9648},"provenance":{"calls_per_sample":1000,"stopped_by":"precision"}}],"started_at":"2024-05-01T10:00:01Z"}');
INSERT INTO "measurements" VALUES(2,'run-1','this','dea059b5f76d95ee',0,0,'timeout','torch.mm','','2024-05-01T10:00:01Z',NULL,'{"schema":1,"run_id":"run-1","case_id":"dea059b5f76d95ee","case":{"op":"torch.mm","args":[{"type":"tensor","shape":[2,8]},{"type":"tensor","shape":[8,4]}]},"status":"timeout","reason":"took more than 1 s","started_at":"2024-05-01T10:00:01Z"}');
INSERT INTO "measurements" VALUES(3,'run-1','this','dea059b5f76d95ee',0,1,'ok','torch.mm','','2024-05-01T10:00:01Z',1.5e-06,'{"schema":1,"run_id":"run-1","case_id":"dea059b5f76d95ee","case":{"op":"torch.mm","args":[{"type":"tensor","shape":[2,8]},{"type":"tensor","shape":[8,4]}]},"status":"ok","attempt":1,"metrics":[{"tag":"time","value":1.5e-06,"unit":"s","hint":"duration","samples":[1.5e-06,1.5012345678e-06,1.5024691356e-06],"flags":[0,0,0],"interval":{"low":1.4e-06,"high":1.6e-06,"confidence":0.9648},"provenance":{"calls_per_sample":1000,"stopped_by":"precision"}}],"warnings":[{"code":"interference","message":"something else ran"}],"output":{"stdout":"half a pair: \ufdd0d800"},"started_at":"2024-05-01T10:00:01Z"}');
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('opbench_store_version','1');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	started_at TEXT NOT NULL, 
	finished_at TEXT NOT NULL, 
	hidden TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (run_id)
);
INSERT INTO "runs" VALUES(1,'run-1','the first','2024-05-01T10:00:00Z','2024-05-01T10:01:00Z','','{"schema":1,"run_id":"run-1","name":"the first","started_at":"2024-05-01T10:00:00Z","finished_at":"2024-05-01T10:01:00Z","opbench_version":"0.1.0","suites":["quick"],"expected":3,"request":{"limit":{"$float":"inf"}}}');
CREATE INDEX ix_runs_started_at ON runs (started_at);
CREATE INDEX ix_environments_fingerprint ON environments (fingerprint);
CREATE INDEX measurements_in_order ON measurements (run_id, id);
COMMIT;
