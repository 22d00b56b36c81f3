/// All commands of the executable, in the order in which help shows them.
enum CommandTable {
    static let commands: [CommandDefinition] =
        [
            ServeCommand.definition,
            DevCommand.definition,
            DemoCommand.definition,
            CertsCommand.definition,
        ] + ConfigCommands.definitions + AccountCommands.definitions + AuditCommands.definitions
        + ContainersCommands.definitions
        + SchemaCommands.definitions + ZonesCommands.definitions
        + RecordsCommands.definitions + ShareCommands.definitions + KeyCommands.definitions
        + KeyCommands.enrolmentDefinitions + KeyCommands.peopleDefinitions
        + KeyCommands.reencryptionDefinitions + [
            QueryCommands.query,
            QueryCommands.explain,
            ChangesCommand.definition,
            WatchCommand.definition,
            ImportCommand.definition,
            ExportCommand.definition,
            DoctorCommand.definition,
            HealthCommand.definition,
            StatsCommand.definition,
            SnapshotCommand.definition,
            BackupCommand.definition,
            RestoreCommand.definition,
            VerifyCommand.definition,
            LoadCommand.definition,
            DemoDeviceCommand.definition,
            CompletionCommand.definition,
            ManualCommand.definition,
            VersionCommand.definition,
            HelpCommand.definition,
        ]
}
