import {keepResealed, listSealedElse} from '../../sql/schedules.ts'
import {resealEach} from '../security/reseal.ts'
import {open, seal} from '../security/secrets.ts'

export const resealSchedules = resealEach({
  what: 'schedule',
  list: listSealedElse,
  idOf: ({id}) => id,
  reseal: ({db, ring}, {id, credentials}) =>
    keepResealed(db, {id, before: credentials, after: seal(ring, open(ring, credentials, id), id)}),
})
