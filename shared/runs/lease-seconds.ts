/** Lifetime of an external engine's lease, in seconds. If the engine makes no request for longer, another run may take the import. */
export const leaseSeconds = 120
