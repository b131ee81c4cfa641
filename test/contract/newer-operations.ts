/** An operation that older documents do not have. `operation`: its name in newer documents. */
export type NewerOperation = {operation: string; method: string; path: RegExp; reason: string; source: string}

const source = 'zoho/crm-oas of 2026, v8.0'

/** Operations that the adapter uses and that older versions of the vendor's documents do not have. They are checked if a document has them. */
export const newerOperations: NewerOperation[] = [
  {
    operation: 'GET /crm/v8/settings/profiles/{id}',
    method: 'GET',
    path: /^\/crm\/v8\/settings\/profiles\/\d+$/,
    reason: 'The snapshots of 2025 have no document of profiles.',
    source,
  },
  {
    operation: 'GET /crm/v8/settings/data_sharing',
    method: 'GET',
    path: /^\/crm\/v8\/settings\/data_sharing$/,
    reason: 'The snapshots of 2025 have no document of data sharing, and take its path for a record of a module.',
    source,
  },
  {
    operation: 'GET /crm/v8/settings/automation/assignment_rules',
    method: 'GET',
    path: /^\/crm\/v8\/settings\/automation\/assignment_rules$/,
    reason: 'The snapshots of 2025 have no document of assignment rules.',
    source,
  },
  {
    operation: 'POST /crm/v8/{module}/actions/add_tags',
    method: 'POST',
    path: /^\/crm\/v8\/\w+\/actions\/add_tags$/,
    reason: 'The snapshots of 2025 have no document of tag actions.',
    source,
  },
  {
    operation: 'GET /crm/v8/settings/recycle_bin',
    method: 'GET',
    path: /^\/crm\/v8\/settings\/recycle_bin$/,
    reason: 'The snapshots of 2025 have no document of the recycle bin, and take its path for a record of a module.',
    source,
  },
  {
    operation: 'POST /crm/v8/settings/recycle_bin/actions/restore',
    method: 'POST',
    path: /^\/crm\/v8\/settings\/recycle_bin\/actions\/restore$/,
    reason: 'The snapshots of 2025 have no document of restoring records.',
    source,
  },
  {
    operation: 'GET /crm/v8/{module}/{recordId}/__timeline',
    method: 'GET',
    path: /^\/crm\/v8\/\w+\/\d+\/__timeline$/,
    reason: 'The snapshots of 2025 have no document of timelines.',
    source,
  },
  ...[
    {operation: 'POST /crm/bulk/v8/read', method: 'POST', path: /^\/crm\/bulk\/v8\/read$/},
    {operation: 'GET /crm/bulk/v8/read/{jobId}', method: 'GET', path: /^\/crm\/bulk\/v8\/read\/\d+$/},
    {operation: 'GET /crm/bulk/v8/read/{jobId}/result', method: 'GET', path: /^\/crm\/bulk\/v8\/read\/\d+\/result$/},
  ].map(one => ({...one, reason: 'The snapshots of 2025 have no document of bulk reads.', source})),
]
