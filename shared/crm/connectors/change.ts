export const addedChange = (name: string) =>
  ({page: 'connections', subject: 'connection.added', target: name, before: null, after: 'connected'}) as const

/** `before` is null, because the caller does not know the earlier state. */
export const connectedChange = (name: string) =>
  ({page: 'connections', subject: 'connection.connected', target: name, before: null, after: 'connected'}) as const
