import type {Db} from '../../sql/database.ts'
import {isRunKept, type Run} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'

/** Throws FILE_GONE if the run expired. The counts of an expired run are kept, but its log and files are deleted. */
export const assertKept = ({expiredAt}: Pick<Run, 'expiredAt'>): void => {
  if (expiredAt !== null) throw gone()
}

/** Throws FILE_GONE if the run expired while its rows were read, because the last rows may be missing. Call this after reading. */
export const assertStillKept = async (db: Db, run: number): Promise<void> => {
  if (!(await isRunKept(db, run))) throw gone()
}

const gone = () =>
  new Refusal('FILE_GONE', "The run's records and files were deleted at the end of the plan's history window. Only its counts are left")
