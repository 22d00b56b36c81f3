package import BrumeModel

/// How the secrets and the URLs of a database's shares are made. A server gives functions of its own key.
package final class ShareAddresses {
    /// Where a secret is made: no two have the same place.
    package struct Place {
        package var run: UInt32
        package var sequence: UInt64
        /// The zone's incarnation.
        package var zone: UInt64
        /// The number of the secret in its zone's part of the commit.
        package var index: UInt64

        package init(run: UInt32, sequence: UInt64, zone: UInt64, index: UInt64 = 0) {
            self.run = run
            self.sequence = sequence
            self.zone = zone
            self.index = index
        }
    }

    /// A secret of 20 bytes that nobody guesses.
    package let newSecret: (Place) -> [UInt8]
    /// The secret of the shares of a whole zone, from the run that made it and its incarnation: the same however often
    /// it is shared, and another for a zone of the same name that is made again.
    package let secretOfZone: (_ run: UInt32, _ incarnation: UInt64) -> [UInt8]
    /// The URL of a share.
    package let url: (ShareLink) -> String

    package init(
        newSecret: @escaping (Place) -> [UInt8],
        secretOfZone: @escaping (_ run: UInt32, _ incarnation: UInt64) -> [UInt8],
        url: @escaping (ShareLink) -> String
    ) {
        self.newSecret = newSecret
        self.secretOfZone = secretOfZone
        self.url = url
    }

    /// For databases that no server serves: anybody can work out their secrets.
    package static func plain() -> ShareAddresses {
        func secret(_ number: UInt64, _ index: UInt64) -> [UInt8] {
            [UInt8](repeating: 0, count: Share.secretByteCount - 16)
                + [number, index].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        }
        return ShareAddresses(
            newSecret: { secret($0.sequence, $0.zone << 16 | $0.index + 1) }, secretOfZone: { secret($1, 0) },
            url: { link in
                let secrets = link.secret + (link.oneTimeSecret ?? [])
                return "/share/" + secrets.map { String($0, radix: 16) }.joined(separator: "-")
            })
    }
}
