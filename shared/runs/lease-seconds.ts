/** Lifetime of an external engine's lease, in seconds. If the engine makes no call for longer, its run loses the import. */
export const leaseSeconds = 120
