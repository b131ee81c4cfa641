/** Settings pages that exist once per connection. A change on these pages names its connection. */
export const OWN_PAGES = ['modules', 'fields', 'writing'] as const

/** All settings pages. Those that are not in `OWN_PAGES` belong to the whole org. */
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
