import type {ConnectorRow} from '../../sql/connectors.ts'

/** A connection as the API answers it. */
export const describeConnector = ({id, name, kind, dc, state, crmUserName, scopes, writesPaused, createdAt}: ConnectorRow) => ({
  ...{id, name, kind, dc, state, crmUserName, scopes, writesPaused, createdAt},
})
