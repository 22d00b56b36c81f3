internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume serve`: runs a server.
enum ServeCommand {
    static let definition = CommandDefinition(
        ["serve"], "run a server", options: options,
        notes: [
            """
            Without --certificate and --key it uses certs/server.pem and certs/server.key, which brume certs makes. \
            Logs go to stderr, one line an event. SIGTERM and SIGINT drain: no new connections, calls in flight end, \
            everything is on disk, exit 0. A second signal ends the process at once.
            """,
            """
            Started by systemd with Type=notify it says when it serves, reloads and stops, and feeds the watchdog \
            (WatchdogSec=) as long as its loops turn. Started by a .socket unit it serves that one's address, and not \
            --listen: connections wait there while it is started again. Credentials with the names server.pem and \
            server.key (LoadCredential=) are its certificate and key, where none are named.
            """,
            """
            SIGHUP has it read certificate and key again, for new connections; those that are there stay. Files that \
            can't be used, or don't belong together, change nothing, and the log says so. The log level of the \
            configuration file is read again, too.
            """,
            """
            While the disk is full, writes are refused with a time to come back; reading and notifications go on, but \
            for what shows a commit that waits for room. Uploads of assets are refused before, with less than \
            --asset-free of the disk. Any other failure of a write or a sync ends the server with exit code 74: \
            nothing is acknowledged after it, and a start on the mended disk finds everything that was.
            """,
            """
            Damage anywhere in the folder stops the start with exit code 7, file and place. With more than 256 MiB of \
            snapshots, or more than 10,000, it serves first and reads them behind: damage is logged then, shown by \
            brume health, and refuses the database that it is in.
            """,
            """
            --metrics-listen is for Prometheus and for whatever watches processes. It has no TLS and asks for no \
            token, and what it tells names no account: let those reach it who may know how busy the server is. /livez \
            fails when a loop does not answer within 5 seconds, /readyz while the server drains as well.
            """,
            """
            Without --container any name is served: containers that hold data to every account, and a new one to an \
            account that has data in fewer than \(ServiceLimits.containersPerAccount). One that is left without a \
            write was never there.
            """,
            """
            In development any account's saves add record types and fields to a container's schema, \
            \(Limits.recordTypesPerTeacher) and \(Limits.fieldsPerTeacher) for each account. For users whom you don't \
            know use --no-development (schemas are imported and deployed all the same), or --teachers with those who \
            make the app: to everybody else development is as strict as production.
            """,
            """
            --public-url is what people see of a server who are sent a share's URL: name a host that your clients \
            reach. The token in the URL works whatever stands before it, so it may change.
            """,
            CommandOptions.quotaNote,
            """
            The contents of assets are files in the folder assets/ of the data folder, or with --assets in \
            DIR/assets, and part of backups. The data folder and DIR know each other (brume.assets in both): a start \
            without --assets, with another folder, or with one whose disk is not mounted is refused, and no two \
            servers use one. Commands on the data folder find DIR by themselves, or are told by --assets where it is \
            now. To move assets: stop the server, move the folder (mv brume-data/assets DIR/), start it with --assets \
            DIR. To move them back: the same, and once --assets with the data folder's own path. The first start in a \
            new place looks for every asset there that a record names, and changes nothing if one is missing. \
            --asset-free is about DIR's disk then.
            """,
            """
            Commands that take --data DIR reach it through a socket in that folder, as its user or root, and need no \
            certificate and no token. Make an account for it so, while it runs or before: brume account add NAME \
            --data DIR
            """,
            """
            Nobody gets all there is: connections are bounded for each account and address, and in all by the open \
            files that the process may have, of which up to 256 are kept for the server's own. It raises its soft \
            limit of them to the hard one (ulimit -Hn), and logs what follows from it. An account that has too many \
            connections is told so, with a time to come back; of an address (of IPv6: of its first 64 bits) without \
            an account, what is too much is closed. The same for memory: answers that a client does not read and \
            requests that it does not finish are bounded for each account, at an eighth of all, and each address, at \
            a sixteenth. Above it calls are refused with a time to come back, and a large request is not read until \
            there is room.
            """,
        ],
        examples: ["brume certs && brume serve --data ./brume-data --listen 0.0.0.0:7440"],
        body: .blocking(run))

    private static func run(_ invocation: Invocation) throws -> ExitCode {
        Descriptors.raiseLimit()
        var configuration = try configuration(invocation)
        try DataFolder.requireOwn(configuration.dataFolder)
        StopSignals.block()
        let service = try ManagedService()
        configuration.inheritedSocket = service.socket
        service.opens()
        let log = configuration.log
        if !FileSystem.exists(configuration.dataFolder) {
            log.info("there is no data folder yet: a new one is made", [("folder", configuration.dataFolder)])
        }
        let certificatePath = configuration.certificatePath
        CertificateCheck.warn(certificatePath, in: log)
        let server = try Server(configuration)
        try ServerRunner.run(
            server, withParent: invocation.isOn("with-parent"), as: service,
            reload: {
                do {
                    if let invocation = try CommandLineRunner.readAgain() {
                        log.minimum = try CommandOptions.level(invocation)
                    }
                } catch {
                    let reason = CommandError(describing: error).message
                    log.error("the configuration can't be read again", [("reason", reason)])
                }
                server.reloadCertificate()
                CertificateCheck.warn(certificatePath, in: log)
            }, serving: {})
        return .done
    }
}
