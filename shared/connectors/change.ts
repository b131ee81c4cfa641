/** A connection that is new to the org, in the settings history. */
export const added = (name: string) =>
  ({page: 'connections', subject: 'connection.added', target: name, before: null, after: 'connected'}) as const

/** A connection that was authorised again. Its earlier state is not known here. */
export const connected = (name: string) =>
  ({page: 'connections', subject: 'connection.connected', target: name, before: null, after: 'connected'}) as const
