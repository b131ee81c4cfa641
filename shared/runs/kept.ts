import type {Db} from '../../sql/database.ts'
import {isRunKept, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'

/** Of an expired run its bare record is left: what it came to is told, and what its rows became is not known any more. */
export const assertKept = ({expiredAt}: Pick<Run, 'expiredAt'>): void => {
  if (expiredAt !== null) throw gone()
}

/** After a reading: what was read of a run that expired meanwhile may lack its end. */
export const assertStillKept = async (db: Db, run: number): Promise<void> => {
  if (!(await isRunKept(db, run))) throw gone()
}

const gone = () =>
  new Refusal('FILE_GONE', "The run's records and files went at the end of the plan's history window: its counts are all that is left")
