/** Lifetime of an external engine's lease. If an engine makes no call for longer, it loses its import. */
export const leaseSeconds = 120
