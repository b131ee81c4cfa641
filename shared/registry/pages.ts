/** The settings pages a connection has of its own: their changes are told with the connection they are about. */
export const OWN_PAGES = ['modules', 'fields', 'writing'] as const

/** Every page a change may belong to. All others are the org's. */
export const PAGES = [
  ...OWN_PAGES,
  'general',
  'members',
  'connections',
  'libraries',
  'templates',
  'imports',
  'tokens',
  'plan',
  'usage',
  'notices',
] as const
export type Page = (typeof PAGES)[number]
