import type {Db} from '../../../sql/database.ts'
import {findLatestDiscovery} from '../../../sql/discoveries.ts'
import {findForecast} from '../../../sql/forecasts.ts'
import {findImport} from '../../../sql/imports.ts'
import {Refusal} from '../../errors.ts'
import {Forecast} from './forecast.ts'

/** All values except `due` are null if the import has no forecast, or only one that this build cannot read. `due`: a new forecast may differ. */
export const readForecast = async (db: Db, {org, importId}: {org: string; importId: string}) => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const discovery = await findLatestDiscovery(db, found.connectorId)
  const stored = await findForecast(db, {importNo: found.no, discovery: discovery?.id ?? null})
  const {data: forecast} = Forecast.safeParse(stored?.forecast)
  if (!stored || !forecast) return {forecast: null, madeAt: null, stale: null, due: true}
  const {madeAt, stale, old} = stored
  return {forecast, madeAt, stale, due: stale || old}
}
