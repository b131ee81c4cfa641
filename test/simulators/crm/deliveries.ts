/** Requests that arrive at the CRM after their connection ended, by org. */
export type Deliveries = {
  add: (org: string | null, afterMs: number, deliver: () => Promise<void>) => void
  /** Counts the requests that have not arrived, of one org or of all orgs. */
  pending: (org?: string) => number
  /** Discards requests that have not arrived. */
  cancel: () => void
}

type Delivery = {org: string | null; timer: NodeJS.Timeout}

export const createDeliveries = (): Deliveries => {
  const pending = new Set<Delivery>()
  return {
    add: (org, afterMs, deliver) => {
      const arrive = () => {
        deliver()
          .catch(error => console.error(error))
          .finally(() => pending.delete(delivery))
      }
      const delivery: Delivery = {org, timer: setTimeout(arrive, afterMs)}
      pending.add(delivery)
    },
    pending: org => [...pending].filter(delivery => org === undefined || delivery.org === org).length,
    cancel: () => {
      for (const {timer} of pending) clearTimeout(timer)
      pending.clear()
    },
  }
}
