/* The attributes of a person, one row each. These rows define the cache's structs, columns,
 * comparisons and statements, the members of answers and requests with their schemas, the
 * columns of files and the tables of the connectors. */
#ifndef SCHEMA_ATTRIBUTES_H
#define SCHEMA_ATTRIBUTES_H

/* X(column, name, listed, property, and for attributes that callers set: kind, max, about,
 * OpenLDAP's attribute, Active Directory's)
 *
 *   column     of cache.directory_user; the members of cache_user, ida_user and, if callers set it,
 *              of ida_create have the same name
 *   name       of the member of answers and requests
 *   listed     YES: also shown in lists and their files; NO: only in the person's details
 *   property   of Microsoft Graph
 *   kind, max  IDA_PARAM_kind (core/model/param.h), maximum in UTF-16 units
 *   about      description for callers
 *   attribute  (members of ld_field from `attribute` on, worker/ldap/wire/dialect.h); the functions
 *              are those of worker/ldap/wire/dialect.c */
/* clang-format off */
#define IDA_IF_YES(...) __VA_ARGS__
#define IDA_IF_NO(...)

/* What GET user shows of each person: names, which the service forms, and work. */
#define IDA_PERSON_NAMES(X) \
    X(upn, "userPrincipalName", YES, "userPrincipalName") \
    X(display_name, "displayName", YES, "displayName") \
    X(given_name, "givenName", NO, "givenName") \
    X(surname, "surname", NO, "surname")
#define IDA_PERSON_WORK(X) \
    X(department, "department", YES, "department", STRING, 64, "Department.", \
        ("departmentNumber", .also = "ou"), ("department")) \
    X(job_title, "jobTitle", YES, "jobTitle", STRING, 128, "Job title.", ("title"), ("title"))
#define IDA_PERSON_MAIL(X) X(mail, "mail", NO, "mail")
/* Further attributes that the details show. */
#define IDA_PERSON_PROFILE(X) \
    X(company, "company", YES, "companyName", STRING, 64, "Company name.", ("o"), ("company")) \
    X(office, "office", NO, "officeLocation", STRING, 128, "Office location.", \
        ("physicalDeliveryOfficeName"), ("physicalDeliveryOfficeName")) \
    X(city, "city", NO, "city", STRING, 128, "City.", ("l"), ("l")) \
    X(street_address, "streetAddress", NO, "streetAddress", LINES, 1024, "Street address.", \
        ("street"), ("streetAddress", .narrow = with_breaks)) \
    X(postal_code, "postalCode", NO, "postalCode", STRING, 40, "Postal code.", \
        ("postalCode"), ("postalCode")) \
    X(country, "country", NO, "country", COUNTRY, 128, \
        "Country; an ISO 3166-1 alpha-2 code is recommended.", \
        ("c", .narrow = country_code), ("c", .narrow = code_alone)) \
    X(preferred_language, "preferredLanguage", NO, "preferredLanguage", LANGUAGE, 128, \
        "BCP 47 language tag, such as sv-SE.", ("preferredLanguage"), ("preferredLanguage")) \
    X(employee_id, "employeeId", YES, "employeeId", STRING, 16, \
        "The person's number in the HR system.", ("employeeNumber"), ("employeeID"))

#define IDA_PERSON_BRIEF(X) IDA_PERSON_NAMES(X) IDA_PERSON_WORK(X)
#define IDA_PERSON_GIVEN(X) IDA_PERSON_WORK(X) IDA_PERSON_PROFILE(X)
#define IDA_PERSON(X) IDA_PERSON_BRIEF(X) IDA_PERSON_MAIL(X) IDA_PERSON_PROFILE(X)

/* Declares a member for each attribute's column as const char *. */
#define IDA_PERSON_MEMBER(column, ...) const char *column;
#define IDA_LISTED_MEMBER(column, name, listed, ...) IDA_IF_##listed(const char *column;)
/* clang-format on */

#endif
