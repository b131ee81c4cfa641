/** An external engine that is silent for longer loses its import. */
export const leaseSeconds = 120
