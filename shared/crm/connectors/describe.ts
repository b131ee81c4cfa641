import type {ConnectorRow} from '../../../sql/connectors.ts'
import {describeWarning} from '../visibility.ts'

export const describeConnector = ({id, name, kind, dc, state, crmUserName, scopes, writesPaused, warnings, createdAt}: ConnectorRow) => ({
  id,
  name,
  kind,
  dc,
  state,
  crmUserName,
  scopes,
  writesPaused,
  warnings: warnings.map(describeWarning),
  createdAt,
})
