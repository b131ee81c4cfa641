import {Refusal} from '../errors.ts'

/** Returns the refusal of a change that no staff view may make. */
export const impersonationRefused = () =>
  new Refusal('IMPERSONATION_REFUSED', 'A staff view cannot do this for an org. Ask a member of the org to do it')
