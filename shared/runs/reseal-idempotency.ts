import {keepResealedKey, listKeysSealedElse} from '../../sql/idempotency.ts'
import {resealEach} from '../security/reseal.ts'
import {open, seal} from '../security/secrets.ts'
import {sealedAs} from './idempotency-values.ts'

/** Reseals the orgs' idempotency keys. The keys themselves do not change, so idempotency values stay equal. */
export const resealIdempotencyKeys = resealEach({
  what: 'org',
  list: listKeysSealedElse,
  idOf: ({org}) => org,
  reseal: ({db, ring}, {org, sealed}) =>
    keepResealedKey(db, {org, before: sealed, after: seal(ring, open(ring, sealed, sealedAs(org)), sealedAs(org))}),
})
