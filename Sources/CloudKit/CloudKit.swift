@_exported public import BrumeKit
