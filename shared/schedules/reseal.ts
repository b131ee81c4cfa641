import {keepResealed, listSealedElse} from '../../sql/schedules.ts'
import {resealEach} from '../resealing.ts'
import {open, seal} from '../secrets.ts'

/** The credentials of every schedule's source. */
export const resealSchedules = resealEach({
  what: 'schedule',
  list: listSealedElse,
  idOf: ({id}) => id,
  reseal: ({db, ring}, {id, credentials}) =>
    keepResealed(db, {id, before: credentials, after: seal(ring, open(ring, credentials, id), id)}),
})
