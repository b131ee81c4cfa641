/** The folder of the vendor's OpenAPI documents; null without one. They have no licence, so this project does not contain them. */
export const documentsFolder = process.env.CRM_OAS_DIR || null
/** The folder in which the CRM simulators of a test run record their exchanges; null without one. */
export const exchangesFolder = process.env.CRM_EXCHANGES || null
