import type {Config} from '../shared/config.ts'
import {openRecordUrls} from '../shared/crm/record-url.ts'
import type {FoundRun} from '../shared/runs/find.ts'
import {findConnector} from '../sql/connectors.ts'
import type {Pool} from '../sql/database.ts'

type UrlInput = {db: Pool; config: Config; caller: {org: string}}

/** Returns a function that gives the URL of a record of the run at the CRM. The URL is null if the run has no connection, or a deleted one. */
export const openRunRecordUrls = async (
  {db, config, caller: {org}}: UrlInput,
  {run}: FoundRun,
): Promise<(module: string, recordId: string | null) => string | null> => {
  const connector = run.connectorId === null ? null : await findConnector(db, {org, id: run.connectorId})
  return connector ? openRecordUrls(config, connector) : () => null
}
